/* A job for SQL Server Agent, made by `sweetspot agent-job`. Run this once, as a sysadmin, on the
   instance whose Agent shall do it. The job has no schedule: give it one, or start it by
   msdb.dbo.sp_start_job from the last step of another job. To change it, delete it first. */
SET NOCOUNT ON;
DECLARE @job_id uniqueidentifier;
DECLARE @name nvarchar(128);
DECLARE @command nvarchar(max);
DECLARE @database nvarchar(128);
DECLARE @error nvarchar(2000);
SET @name = {{name}};
BEGIN TRY
    BEGIN TRANSACTION;
    EXEC msdb.dbo.sp_add_job @job_name = @name, @job_id = @job_id OUTPUT,
        @description = N'Has Sweetspot measure, and fails when the verdict is bad.';
{{steps}}
    EXEC msdb.dbo.sp_add_jobserver @job_id = @job_id;
    COMMIT TRANSACTION;
END TRY
BEGIN CATCH
    SET @error = ERROR_MESSAGE();
    IF @@TRANCOUNT > 0
        ROLLBACK TRANSACTION;
    RAISERROR(N'%s', 16, 1, @error);
END CATCH;
